*** Settings ***
Documentation       Whatever changes, the switches end exactly at what a computation from scratch says.
Resource            ../resources/coeus.resource
Suite Setup         Start Two Nodes With Pods
Suite Teardown      Stop Lab
Test Teardown       Tables Should Be As From Scratch

*** Test Cases ***
A Pod Is Added Later
    Create And Plug Pod    p4    blue    2    10.11.2.11    10.11.2.1
    All Pods Should Reach All    blue

The Port Comes Before The Pod
    Plug Pod    p5    blue    1    10.11.1.15/24    10.11.1.1
    Create Pod    p5    blue    1    10.11.1.15
    Ping Should Pass    blue:p5    10.11.2.10

The Pod Comes Before The Port
    Create Pod    p6    blue    2    10.11.2.16
    ${object}=    Resource Should Exist    ${OPERATIONAL}/coeus-status:objects/object/blue:p6
    Should Be Equal    ${object}[coeus-status:object][0][state]    pending
    Plug Pod    p6    blue    2    10.11.2.16/24    10.11.2.1
    Ping Should Pass    blue:p6    10.11.1.10

A Pod Is Deleted
    Delete Pod    p5    blue
    Ping Should Fail    blue:p1    10.11.1.15

A Pod Changes Its Address
    Create Pod    p6    blue    2    10.11.2.17    expected=200
    Readdress Pod    blue:p6    10.11.2.17/24    10.11.2.1
    Ping Should Pass    blue:p1    10.11.2.17
    Ping Should Fail    blue:p1    10.11.2.16

A Pod Moves To Another Node
    Unplug Pod    p6    blue
    Create Pod    p6    blue    1    10.11.1.18    expected=200
    Plug Pod    p6    blue    1    10.11.1.18/24    10.11.1.1
    Ping Should Pass    blue:p6    10.11.2.10

A Pod Moves To Another Namespace
    Unplug Pod    p6    blue
    Move Pod    p6    blue    red    1    10.11.1.18
    Plug Pod    p6    red    1    10.11.1.18/24    10.11.1.1
    Ping Should Pass    red:p6    10.11.2.20
    Ping Should Fail    red:p6    10.11.2.10

Two Pods With One Address Are Refused
    ${answer}=    Create Pod    twin    blue    2    10.11.1.10    expected=409
    Should Contain    ${answer.text}    p1
    Resource Should Not Exist    ${CONFIG}/pod:coe/pods/00000000-0000-0000-0000-000000000001

A Port Vanishes And Comes Back
    Unplug Pod    p4    blue
    Ping Should Fail    blue:p1    10.11.2.11
    Plug Pod    p4    blue    2    10.11.2.11/24    10.11.2.1
    Ping Should Pass    blue:p1    10.11.2.11

A Namespace Is Emptied
    Delete Pod    p1    red
    Delete Pod    p2    red
    Delete Moved Pod    p6    blue
    Resource Should Not Exist    ${CONFIG}/l3vpn:vpn-instances/vpn-instance/red

*** Keywords ***
Start Two Nodes With Pods
    Start Lab And Session    2
    Announce Node    1    10.11.1.0/24
    Announce Node    2    10.11.2.0/24
    Create And Plug Pod    p1    blue    1    10.11.1.10    10.11.1.1
    Create And Plug Pod    p3    blue    2    10.11.2.10    10.11.2.1
    Create And Plug Pod    p1    red    1    10.11.1.20    10.11.1.1
    Create And Plug Pod    p2    red    2    10.11.2.20    10.11.2.1
    All Pods Should Reach All    blue
    All Pods Should Reach All    red

Move Pod
    [Documentation]    The same pod (its uid stays) in another namespace.
    [Arguments]    ${name}    ${from}    ${to}    ${node}    ${address}
    ${body}=    Pod Body    ${name}    ${to}    ${node}    ${address}
    ${uid}=    Pod Uid    ${from}:${name}
    Set To Dictionary    ${body}[pod:pods][0]    uid=${uid}
    Set To Dictionary    ${body}[pod:pods][0][interface][0]    uid=${uid}
    PUT On Session    coeus    ${CONFIG}/pod:coe/pods/${uid}    json=${body}    expected_status=200

Delete Moved Pod
    [Arguments]    ${name}    ${from}
    Delete Pod    ${name}    ${from}
