*** Settings ***
Documentation       The controller is stopped, killed and frozen while 1,000 packets a second flow, neighbours are forgotten, connections are made, and pods come and go a
...                 hundred times a second: pods feel nothing of it.
Resource            ../resources/coeus.resource
Library             ../libraries/Services.py
Library             ../libraries/Storm.py
Suite Setup         Start Two Nodes With Pods
Suite Teardown      Run Keywords    Stop Servers    AND    Stop Lab

*** Test Cases ***
A Clean Restart Writes No Flow Again
    Remember Counters    1
    Remember Counters    2
    Start Probes    blue:p1    10.11.2.10    8000
    Sleep    1 s
    Stop Controller
    Start Controller
    Wait For Switches
    ${sent}    ${lost}=    Probes Lost
    Should Be Equal As Integers    ${lost}    0
    FOR    ${node}    IN    1    2
        Counters Should Have Grown    ${node}
        FOR    ${what}    IN    flow-mods    group-mods    meter-mods
            ${mods}=    Switch Leaf    ${node}    ${what}
            Should Be Equal As Integers    ${mods}    0    ${what} sent to node ${node}
        END
    END

Stopped, Killed And Frozen Under A Storm
    [Documentation]    Upgraded is stopped and started: another program with the same data.
    Start Probes    blue:p1    10.11.2.10    50000
    Start Asking    blue:p2    10.11.2.11    8080
    Start Storm    1    ${PODS}    100
    Sleep    3 s
    Stop Controller
    Sleep    2 s
    Start Controller
    Sleep    3 s
    Stop Controller    KILL
    Start Controller
    Sleep    3 s
    Freeze Controller    30
    ${sent}    ${lost}=    Probes Lost
    ${done}=    Stop Storm
    ${asked}    ${unanswered}=    Stop Asking
    Should Be Equal As Integers    ${sent}    50000
    Should Be Equal As Integers    ${lost}    0
    Should Be Empty    ${unanswered}
    Should Be True    ${asked} >= 30 and ${done} >= 100    ${asked} connections, ${done} operations

And All Is As It Should Be
    Open Session
    Tables Should Be As From Scratch

*** Keywords ***
Start Two Nodes With Pods
    Start Lab And Session    2
    Set Suite Variable    ${PODS}    20
    Announce Node    1    10.11.1.0/24
    Announce Node    2    10.11.2.0/24
    Create And Plug Pod    p1    blue    1    10.11.1.10    10.11.1.1
    Create And Plug Pod    p2    blue    1    10.11.1.11    10.11.1.1
    Create And Plug Pod    p3    blue    2    10.11.2.10    10.11.2.1
    Create And Plug Pod    p4    blue    2    10.11.2.11    10.11.2.1
    Make Ports For Storm    1    ${PODS}
    Start Server    blue:p4    TCP    8080
    All Pods Should Reach All    blue
    Wait For Switches
