*** Settings ***
Documentation       Pods of one namespace on two nodes and in two subnets: routed by the switches through VXLAN.
Resource            ../resources/coeus.resource
Suite Setup         Start Two Nodes With Pods
Suite Teardown      Stop Lab

*** Test Cases ***
Pods Of A Namespace Reach Each Other Across Nodes
    ${pairs}=    All Pods Should Reach All    blue
    Should Be Equal As Integers    ${pairs}    12
    All Pods Should Reach All    red

The Gateway Answers
    Ping Should Pass    blue:p1    10.11.1.1
    Ping Should Pass    blue:p3    10.11.2.1

TCP Carries Two Megabytes Between Nodes And Inside One
    ${arrived}=    TCP Transfer    blue:p1    blue:p3
    Should Be Equal As Integers    ${arrived}    2097152
    ${arrived}=    TCP Transfer    blue:p1    blue:p2    5001
    Should Be Equal As Integers    ${arrived}    2097152

No Packet Was Handed To The Controller
    [Documentation]    ARP, routing and gateway echoes are answered by the switches alone.
    ${punted}=    Punted Packets
    Should Be Equal As Integers    ${punted}    0

Both Nodes Route
    [Documentation]    Symmetric routing: each end decrements the TTL once.
    ${ttl}=    TTL Seen    blue:p1    10.11.2.10
    Should Be Equal As Integers    ${ttl}    62

Namespaces Are Isolated Across Nodes
    Ping Should Fail    blue:p1    10.11.2.20
    Ping Should Fail    red:p1    10.11.2.10

The Controller May Restart Under Traffic
    ${before}=    Flow Count    1
    Stop Controller    KILL
    Ping Should Pass    blue:p1    10.11.2.10
    Start Controller
    Ping Should Pass    blue:p2    10.11.2.11
    Open Session
    Flow Count Should Become    1    ${before}

*** Keywords ***
Start Two Nodes With Pods
    Start Lab And Session    2
    Announce Node    1    10.11.1.0/24
    Announce Node    2    10.11.2.0/24
    Create And Plug Pod    p1    blue    1    10.11.1.10    10.11.1.1
    Create And Plug Pod    p2    blue    1    10.11.1.11    10.11.1.1
    Create And Plug Pod    p3    blue    2    10.11.2.10    10.11.2.1
    Create And Plug Pod    p4    blue    2    10.11.2.11    10.11.2.1
    Create And Plug Pod    p1    red    1    10.11.1.20    10.11.1.1
    Create And Plug Pod    p2    red    2    10.11.2.20    10.11.2.1
